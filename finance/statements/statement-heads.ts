import { z } from 'zod';
import { readCheckedYaml, type YamlFile } from '../../lib/checked-yaml.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { shiftDay } from '../../reports/period.ts';
import { type StatementHead, type StatementTenant, statementRefused } from './statement.ts';

const address = z
  .string()
  .max(500)
  .transform((text) => text.trim());
const dueDays = z
  .string()
  .regex(/^\d{1,3}$/, 'a number of days, 0 to 999')
  .transform(Number);

const Heads = z.strictObject({
  sender: z.strictObject({ name: z.string().min(1).max(200), address: address.default('') }).optional(),
  due_days: dueDays.optional(),
  tenants: z
    .array(
      z.strictObject({
        /** The tenant's id or name. */
        tenant: z.string().min(1),
        address: address.default(''),
        due_days: dueDays.optional(),
      }),
    )
    .default([]),
});
type Heads = z.output<typeof Heads>;

/** @throws StatementError naming the line and what to write instead */
export async function parseStatementHeads(file: YamlFile): Promise<Heads> {
  const { value, refuse } = await readCheckedYaml(file, Heads, (problem) =>
    statementRefused(problem, 'docs/how-to/tenant-statements.md describes the file'),
  );
  for (const [index, { tenant }] of value.tenants.entries())
    if (value.tenants.findIndex((other) => other.tenant === tenant) < index)
      refuse(['tenants', index], `another line is of the tenant ${tenant}`);
  return value;
}

const MAX_LOGO_BYTES = 100_000;

/** A JPEG goes into a PDF as it is; a PNG would be decoded by a thread whose errors end the process. */
export async function checkLogo(path: string, bytes: Uint8Array): Promise<readonly string[]> {
  const { Paper } = await import('./render-pdf.ts');
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
  try {
    if (!isJpeg) throw new Error('another format');
    new Paper('a4', { title: path, at: new Date(0) }).logo(bytes);
  } catch (cause) {
    throw statementRefused(`${path} is no JPEG`, 'save the picture as JPEG', { cause });
  }
  if (bytes.length > MAX_LOGO_BYTES)
    throw statementRefused(`${path} has ${bytes.length} bytes`, `a logo has at most ${MAX_LOGO_BYTES}`);
  return [`A picture of ${bytes.length} bytes.`];
}

/** Returns the function that makes the head of a statement from the files given now. @throws StatementError */
export async function statementHeads(dataDir: string) {
  const store = await userStore(dataDir);
  const text = await store.read(USER_FILES.statementHeads);
  const path = store.place(USER_FILES.statementHeads);
  const { sender, due_days, tenants } =
    text === null ? Heads.parse({}) : await parseStatementHeads({ path, text: String(text) });
  const logo = (await store.read(USER_FILES.statementLogo))?.toString('base64') ?? null;
  return ({ tenant, tenant_id }: StatementTenant, sentAt: string | null): StatementHead => {
    const own =
      tenants.find((each) => each.tenant === tenant_id) ?? tenants.find((each) => each.tenant === tenant);
    const days = own?.due_days ?? due_days ?? null;
    return {
      ...{ sender: sender ?? null, address: own?.address ?? '', logo, due_days: days },
      due_on: days === null || sentAt === null ? null : shiftDay(sentAt.slice(0, 10), days),
    };
  };
}
