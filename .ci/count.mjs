// Prints `passed failed` of a vitest report. Skipped tests, files that could not be loaded, and a run that
// failed for another reason than its tests count as failed.
import { readFileSync } from 'node:fs';

const [, , path, status] = process.argv;

function count() {
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return [0, 1];
  }
  const tests = report.testResults.flatMap((file) =>
    file.assertionResults.map((test) => ({
      file: file.name,
      title: test.fullName,
      passed: test.status === 'passed',
    })),
  );
  for (const { file, title } of tests.filter((test) => !test.passed)) console.error(`-- ${file}: ${title}`);
  const failed = tests.filter((test) => !test.passed).length;
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  ).length;
  const other = failed + broken === 0 && status !== '0' ? 1 : 0;
  return [tests.length - failed, failed + broken + other];
}

console.log(count().join(' '));
