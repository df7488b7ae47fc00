// Prints "N passed, N failed" from a report of vitest's JSON reporter. A file that failed before
// any test ran counts as one.
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2], 'utf8');
const report = text === '' ? { numPassedTests: 0, numFailedTests: 1, testResults: [] } : JSON.parse(text);
const broken = report.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
);
console.log(`${report.numPassedTests} passed, ${report.numFailedTests + broken.length} failed`);
