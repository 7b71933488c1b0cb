export {
  plainRecord,
  redactComponent,
  redactEvent,
  redactSchedule,
  redactTask,
  redactTaskProgress,
  redactTimeline,
  redactValue,
} from './redact/redact-model.ts';
export type { RedactFunction, RedactOptions } from './redact/redact-options.ts';
export { resolveRedact } from './redact/redact-options.ts';
export { createRedactor, type Redactor } from './redact/redactor.ts';
export { createSourceRedactor } from './redact/source-redactor.ts';
export { credentialsLength } from './redact/url-credentials.ts';
