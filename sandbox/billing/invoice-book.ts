import type { Core } from '../core.ts';
import type { Place } from '../faults/fault-catalogue.ts';
import type { Moment } from '../faults/faults.ts';
import type { EventType, Invoice, Partner, Tenant } from '../model.ts';
import { RefusalError } from '../refusal.ts';
import type { Store } from '../state/store.ts';
import type { CsvSource } from '../storage/csv-file.ts';
import { type BilledShipment, shipmentsOf } from '../storage/shipments.ts';

export class InvoiceBook {
  readonly #store: Store;
  readonly partner: Partner;

  constructor({ store, partner }: Pick<Core, 'store' | 'partner'>) {
    this.#store = store;
    this.partner = partner;
  }

  invoices(): readonly Invoice[] {
    return [...this.#store.all('invoice').values()];
  }

  /** @throws RefusalError when there is no such invoice */
  invoice(invoiceId: string): Invoice {
    const invoice = this.#store.get('invoice', invoiceId);
    if (invoice !== undefined) return invoice;
    throw new RefusalError('not_found', `There is no invoice "${invoiceId}".`);
  }

  tenants(): readonly Tenant[] {
    return [...this.#store.all('tenant').values()];
  }

  /** A tenant is found by its name, its id or the partner's own id. @throws RefusalError when there is no such tenant */
  tenant(name: string): Tenant {
    const found = this.tenants().find((tenant) => namesOf(tenant).includes(name));
    if (found !== undefined) return found;
    throw new RefusalError('not_found', `There is no tenant "${name}".`);
  }

  rows(invoice: Invoice): Generator<BilledShipment> {
    return shipmentsOf(invoice, (id) => this.invoice(id));
  }

  tenantOf(invoice: Pick<Invoice, 'tenantId'>): Tenant | null {
    return invoice.tenantId === null ? null : (this.#store.get('tenant', invoice.tenantId) ?? null);
  }

  moment(place: Place, { invoiceId, tenantId }: Invoice, eventType?: EventType): Moment {
    return { place, invoiceId, tenantNames: this.tenantNames(tenantId), eventType };
  }

  tenantNames(tenantId: string | null): readonly string[] {
    const tenant = tenantId === null ? undefined : this.#store.get('tenant', tenantId);
    return tenant === undefined ? [] : namesOf(tenant);
  }

  csvSource(invoice: Invoice): CsvSource {
    const tenantColumn = this.tenantOf(invoice)?.name ?? this.partner.name;
    return { invoice, tenantColumn, find: (id) => this.invoice(id) };
  }
}

function namesOf(tenant: Tenant): readonly string[] {
  return [tenant.name, tenant.tenantId, tenant.partnerTenantId];
}
