/** Posts a message to a chat's webhook, and tries a few times. */

const SEND_TIMEOUT_MS = 10_000;
const TRIES = 3;

/** @throws whatever the last try failed with */
export async function postMessage(url: string, message: object, retryAfterMs: number): Promise<void> {
  // Most processes have nothing to say, and nowhere to say it.
  const { request } = await import('undici');
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      await body.dump();
      if (statusCode < 300) return;
      throw new Error(`The alert webhook answered ${statusCode}.`);
    } catch (error) {
      if (attempt === TRIES) throw error;
      await new Promise((wake) => setTimeout(wake, retryAfterMs));
    }
  }
}
