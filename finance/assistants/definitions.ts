/** What reports mean, as documents: the words of `billsync report NAME --help`. */

import { findReport, listReports, type ReportDefinition } from '../../reports/catalogue.ts';

/** Every report, in the order of the catalogue. */
export async function catalogue() {
  return (await listReports()).map(described);
}

/** One of them, with its worked example. @throws ReportNotFoundError naming the nearest that exist */
export async function definition(name: string) {
  const report = await findReport(name);
  return { ...described(report), order: report.order, example: report.example?.text ?? null };
}

function described(report: ReportDefinition) {
  const { name, title, purpose, grain, means, cannotSay, parameters } = report;
  return {
    name,
    title,
    purpose,
    grain,
    means,
    cannot_say: cannotSay,
    parameters: parameters.map(parameterOf),
  };
}

function parameterOf({
  name,
  type,
  choices,
  takesSeveral,
  about,
  ...parameter
}: ReportDefinition['parameters'][number]) {
  return { name, type, choices, takes_several: takesSeveral, default: parameter.default, about };
}
