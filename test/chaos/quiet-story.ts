import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { settled } from '../support/foreign-story.ts';
import { checkInvariants, type Truth, type Violation } from '../support/invariants.ts';
import { createProduct } from '../support/processes/product.ts';

export interface QuietResult {
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
  /** From the last delivery to everything being where it belongs. */
  readonly secondsToSettle: number;
}

/** @param tell says everything and answers with the books */
export async function playQuietly(options: {
  readonly settings: Readonly<Record<string, string>>;
  readonly settledWithinMs: number;
  readonly tell: (service: ForeignService, webhookUrl: string) => Promise<() => Truth>;
}): Promise<QuietResult> {
  const service = await startForeignService();
  const product = await createProduct({ service, settings: options.settings });
  let isSound = false;
  try {
    await product.start('up');
    const truth = await options.tell(service, product.webhookUrl);
    const toldMs = Date.now();
    await settled(product.dataDir, truth(), options.settledWithinMs);
    const secondsToSettle = Math.round((Date.now() - toldMs) / 1_000);
    await product.stop('up');
    const { dataDir, logFolder } = product;
    const secrets = [...service.secrets, product.password];
    const violations = await checkInvariants({ dataDir, logFolder, truth: truth(), client: null, secrets });
    isSound = violations.length === 0;
    return { violations, complaints: service.complaints, secondsToSettle };
  } finally {
    if (!isSound) process.stderr.write(`Kept for a look: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

/** @throws Error it was not as the books say */
export function demandSound({ violations, complaints }: QuietResult): void {
  const wrong = [...violations.map(({ invariant, what }) => `${invariant}: ${what}`), ...complaints];
  if (wrong.length > 0) throw new Error(wrong.slice(0, 10).join('\n'));
}
