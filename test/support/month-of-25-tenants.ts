/**
 * A month to be closed: 25 tenants with long and non-Latin names, three currencies, weekly invoices from July to November 2026, a draft, a
 * damaged file, a missing invoice, and a number that was billed twice.
 */

import { anInvoice, aShipment, type FixtureInvoice } from './reports-fixture.ts';

const NAMES = [
  ...[
    'Acme',
    'Zażółć Gęślą Jaźń Spółka z ograniczoną odpowiedzialnością i Spółka komandytowa',
    '東京物流株式会社',
  ],
  ...[
    'Ελληνικές Μεταφορές',
    'שילוח מהיר בע״מ',
    'شركة الشحن السريع',
    'ООО «Быстрая доставка»',
    'बजाज लॉजिस्टिक्स',
  ],
  ...[
    'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft',
    '서울물류',
    "L'Étoile & Fils",
  ],
  ...['ไปรษณีย์ไทย', '"Quoted" <b>Ltd</b>', 'Ærø Øl', 'Smörgås AB'],
];
export const TENANTS = Array.from({ length: 25 }, (_, at) => NAMES[at] ?? `Tenant ${at + 1}`);
const CURRENCIES = ['USD', 'CAD', 'JPY'] as const;
const WEEK_MS = 7 * 86_400_000;
const day = (week: number, days = 0): string =>
  new Date(Date.parse('2026-07-06') + week * WEEK_MS + days * 86_400_000).toISOString().slice(0, 10);

export function monthOf25Tenants(lines = 4): FixtureInvoice[] {
  return TENANTS.flatMap((tenant, at) =>
    Array.from({ length: 20 }, (_, week): FixtureInvoice => {
      const currency = CURRENCIES[at % 3] ?? 'USD';
      const date = day(week, 7);
      const isDraft = at === 3 && week === 15;
      const isDamaged = at === 4 && week === 15;
      const shipments = Array.from({ length: lines }, (_, number) =>
        aShipment({
          ...{
            tenant,
            currency,
            invoiceDate: date,
            shipDate: day(week, number % 5),
            carrier: number % 2 === 0 ? 'ups' : 'fedex',
          },
          cost: currency === 'JPY' ? `${900 + at + week}` : `${10 + at + (week % 3)}.${25 + number}`,
          tracking: at === 0 && week === 14 ? 'TWICE' : `1Z${at}-${week}-${number}`,
          carrierInvoiceDate: day(week, 6),
        }),
      );
      return anInvoice(isDraft || isDamaged ? [] : shipments, {
        ...{ tenant, currency, start: day(week), end: day(week, 6), date, due: day(week, 21) },
        number: `INV-${String(at + 1).padStart(2, '0')}-${String(week + 1).padStart(2, '0')}`,
        ...{ createdAt: `${date}T08:00:00Z`, loadedAt: `${date}T12:00:00Z` },
        ...(isDraft ? { state: 'draft', proof: null, statedTotal: '123.4500', statedShipments: 4 } : {}),
        ...(isDamaged
          ? {
              state: 'needs_attention',
              proof: null,
              statedTotal: '77.0000',
              reasonCode: 'csv-rejected',
              reason: 'Line 7 is no line.',
            }
          : {}),
      });
    }).filter((_, week) => !(at === 5 && week === 15)),
  );
}
