/** Builds every activity from its dependencies: the only way in which a workflow reaches the world. */

import { checkQuarantine } from './check-quarantine.js';
import { decideInvoice } from './decide-invoice.js';
import type { BillingDependencies, WarehouseDependencies } from './dependencies.js';
import { downloadCsv } from './download-csv.js';
import { exportCsv } from './export-csv.js';
import { fetchToken } from './fetch-token.js';
import { findBatchEnd } from './find-batch-end.js';
import { findGaps } from './find-gaps.js';
import { findOverdue } from './find-overdue.js';
import { forwardInbox } from './forward-inbox.js';
import { importCsv } from './import-csv.js';
import { ingestArchive } from './ingest-archive.js';
import { isWorkflowOpen } from './is-workflow-open.js';
import { loadInvoice } from './load-invoice.js';
import { lookAfterInvoices } from './look-after-invoices.js';
import { lookUpInvoice } from './look-up-invoice.js';
import { noteFailure } from './note-failure.js';
import { parkInvoice } from './park-invoice.js';
import { publishSnapshot } from './publish-snapshot.js';
import { recallInvoice } from './recall-invoice.js';
import { recallStandings } from './recall-standings.js';
import { recordDetails } from './record-details.js';
import { recordEvent } from './record-event.js';
import { regenerateUrl } from './regenerate-url.js';
import { resumeInvoice } from './resume-invoice.js';
import { startLookUps } from './start-look-ups.js';
import { surveyInvoices } from './survey-invoices.js';
import { verifyWarehouse } from './verify-warehouse.js';
import { voidInvoice } from './void-invoice.js';

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
