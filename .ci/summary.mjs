// Reads the reports of the test runner in a folder: adds the tests that failed to its file `failures`, and prints how many
// passed and how many failed. A report that is missing, and a file that failed outside its tests, count as one that failed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MESSAGE_CHARACTERS_MAX = 3_000;

const folder = process.argv[2];
let passed = 0;
let failed = 0;
for (const name of ['test', 'browser']) {
  const file = join(folder, `${name}.json`);
  if (!existsSync(file)) {
    failed += 1;
    continue;
  }
  const report = JSON.parse(readFileSync(file, 'utf8'));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  for (const { name: path, status: fileStatus, message, assertionResults } of report.testResults) {
    if (fileStatus === 'failed' && !assertionResults.some(({ status }) => status === 'failed')) {
      failed += 1;
      appendFileSync(join(folder, 'failures'), `== failed: ${path}\n${message.slice(0, MESSAGE_CHARACTERS_MAX)}\n`);
    }
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status !== 'failed') continue;
      const messages = failureMessages.join('\n').slice(0, MESSAGE_CHARACTERS_MAX);
      appendFileSync(join(folder, 'failures'), `== failed: ${path}: ${fullName}\n${messages}\n`);
    }
  }
}
console.log(passed, failed);
