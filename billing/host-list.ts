/** BILLSYNC_DOWNLOAD_HOSTS: whose presigned URLs may be used straight from a webhook, which anybody could have sent. */

/**
 * Whether a URL is https and its host is listed. An entry is a host (`files.example.com`), all hosts below one
 * (`.example.com`), either with `:port`; without a port it means 443.
 */
export function isListedHost(url: string, entries: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, port, username, password } = new URL(url);
  if (protocol !== 'https:' || username !== '' || password !== '') return false;
  return entries.some((entry) => {
    const [, name = '', entryPort = ''] = /^(.*?)(?::(\d+))?$/.exec(entry.trim().toLowerCase()) ?? [];
    if ((entryPort === '443' ? '' : entryPort) !== port || name === '') return false;
    return name.startsWith('.') ? hostname.endsWith(name) : hostname === name;
  });
}
