/** Builds every activity from its dependencies: the only way in which a workflow reaches the world. */

import { checkQuarantine } from './check-quarantine.ts';
import { decideInvoice } from './decide-invoice.ts';
import type { BillingDependencies, WarehouseDependencies } from './dependencies.ts';
import { downloadCsv } from './download-csv.ts';
import { exportCsv } from './export-csv.ts';
import { fetchToken } from './fetch-token.ts';
import { findBatchEnd } from './find-batch-end.ts';
import { findGaps } from './find-gaps.ts';
import { findOverdue } from './find-overdue.ts';
import { forwardInbox } from './forward-inbox.ts';
import { importCsv } from './import-csv.ts';
import { ingestArchive } from './ingest-archive.ts';
import { isWorkflowOpen } from './is-workflow-open.ts';
import { loadInvoice } from './load-invoice.ts';
import { lookAfterInvoices } from './look-after-invoices.ts';
import { lookUpInvoice } from './look-up-invoice.ts';
import { noteFailure } from './note-failure.ts';
import { parkInvoice } from './park-invoice.ts';
import { publishSnapshot } from './publish-snapshot.ts';
import { recallInvoice } from './recall-invoice.ts';
import { recallStandings } from './recall-standings.ts';
import { recordDetails } from './record-details.ts';
import { recordEvent } from './record-event.ts';
import { regenerateUrl } from './regenerate-url.ts';
import { resumeInvoice } from './resume-invoice.ts';
import { startLookUps } from './start-look-ups.ts';
import { surveyInvoices } from './survey-invoices.ts';
import { verifyWarehouse } from './verify-warehouse.ts';
import { voidInvoice } from './void-invoice.ts';

/** Network work, on the `billing` queue: many at once, on any machine. */
export function createBillingActivities(dependencies: BillingDependencies) {
  return {
    fetchToken: fetchToken(dependencies),
    regenerateUrl: regenerateUrl(dependencies),
    downloadCsv: downloadCsv(dependencies),
    exportCsv: exportCsv(dependencies),
    lookUpInvoice: lookUpInvoice(dependencies),
    surveyInvoices: surveyInvoices(dependencies),
    startLookUps: startLookUps(),
    findBatchEnd: findBatchEnd(),
    isWorkflowOpen: isWorkflowOpen(),
  };
}

/** Everything that touches the warehouse, on the `warehouse` queue: one process, the one writer. */
export function createWarehouseActivities(dependencies: WarehouseDependencies) {
  return {
    recordEvent: recordEvent(dependencies),
    recallInvoice: recallInvoice(dependencies),
    recallStandings: recallStandings(dependencies),
    recordDetails: recordDetails(dependencies),
    loadInvoice: loadInvoice(dependencies),
    voidInvoice: voidInvoice(dependencies),
    parkInvoice: parkInvoice(dependencies),
    resumeInvoice: resumeInvoice(dependencies),
    noteFailure: noteFailure(dependencies),
    decideInvoice: decideInvoice(dependencies),
    publishSnapshot: publishSnapshot(dependencies),
    ingestArchive: ingestArchive(dependencies),
    forwardInbox: forwardInbox(dependencies),
    findOverdue: findOverdue(dependencies),
    findGaps: findGaps(dependencies),
    lookAfterInvoices: lookAfterInvoices(dependencies),
    checkQuarantine: checkQuarantine(dependencies),
    verifyWarehouse: verifyWarehouse(dependencies),
    importCsv: importCsv(dependencies),
  };
}

export type BillingActivities = ReturnType<typeof createBillingActivities>;
export type WarehouseActivities = ReturnType<typeof createWarehouseActivities>;
