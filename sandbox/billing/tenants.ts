/**
 * The tenants of the sandbox's partner. Their names are ordinary for humans and awkward for software, each in
 * its own way, because the CSV's Tenant column carries them into every row (spec 2.8, 2.9).
 */
import type { Environment, Partner, PartnerKind, Tenant } from '../model.ts';
import { uuidFrom } from '../randomness.ts';

const TENANTS = [
  { name: 'Harbor & Pine, Inc.', partnerTenantId: '000417', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Zoë’s "Fine" Goods', partnerTenantId: 'ZOE-1', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Müller & Söhne GmbH', partnerTenantId: 'müller', currencyCode: 'EUR', weightUnit: 'KG' },
  { name: '=Cost+Plus Traders', partnerTenantId: '=1+1', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Two Lines\r\nLogistics', partnerTenantId: 'two lines', currencyCode: 'USD', weightUnit: 'KG' },
  { name: '北海道マーケット', partnerTenantId: '0042', currencyCode: 'EUR', weightUnit: 'KG' },
] as const;

/** The same tenants with the same ids for the same seed and environment. */
export function seededTenants(seed: number, environment: Environment): readonly Tenant[] {
  return TENANTS.map((tenant, index) => ({
    tenantId: uuidFrom(seed, environment, 'tenant', index),
    ...tenant,
  }));
}

/** The same partner with the same id for the same seed, environment and kind. */
export function seededPartner(seed: number, environment: Environment, kind: PartnerKind): Partner {
  return {
    partnerId: uuidFrom(seed, environment, 'partner', kind),
    name: kind === '3pl' ? 'Northwind Fulfillment, LLC' : 'Borealis "Direct" Retail, Inc.',
    kind,
  };
}
