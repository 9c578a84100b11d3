// Prints the count of a test run as its last line and decides its exit code: a skipped test is a failed promise.

import { readFileSync } from 'node:fs';

const [reportPath = '', runnerStatus = '1'] = process.argv.slice(2);

let report;
try {
  report = JSON.parse(readFileSync(reportPath, 'utf8'));
} catch (error) {
  console.error(`The test runner left no report: ${error.message}`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}

const skipped = report.numPendingTests + report.numTodoTests;
// A file that cannot be loaded has no failed test of its own, and must still be counted.
const brokenFiles = report.testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
).length;
const failed = report.numFailedTests + brokenFiles;
for (const file of report.testResults) {
  for (const test of file.assertionResults) {
    if (test.status !== 'passed' && test.status !== 'failed') {
      console.error(`Not run: ${file.name} > ${test.fullName}`);
    }
  }
}
const status = Number(runnerStatus);
const failedOrUnexplained = failed === 0 && status !== 0 ? 1 : failed;
console.log(`${report.numPassedTests} passed, ${failedOrUnexplained + skipped} failed`);
process.exit(failedOrUnexplained + skipped === 0 && report.numPassedTests > 0 ? 0 : 1);
