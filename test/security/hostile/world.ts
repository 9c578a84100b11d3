import type {
  ForeignInvoice,
  ForeignQuirk,
  ForeignRoute,
  ForeignService,
} from '../../support/foreign-service.ts';
import type { Product } from '../../support/processes/product.ts';
import type { Random } from '../../support/random.ts';

export interface HostileWorld {
  readonly product: Product;
  readonly service: ForeignService;
  readonly random: Random;
  /** Invoices that must come through whatever happens. */
  readonly honest: readonly ForeignInvoice[];
  answer(invoiceId: string, routes: Partial<Record<ForeignRoute, ForeignQuirk>>): void;
  /** Sends it with good credentials by default; what is answered with 5xx is a fault of the product. */
  send(body: string | Uint8Array, headers?: Record<string, string>): Promise<void>;
  later(end: () => void): void;
}

export interface HostileInput {
  readonly name: string;
  play(world: HostileWorld): Promise<void>;
}

export async function times(count: number, play: () => Promise<void>): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await play();
}
