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
export { joinRedact, resolveRedact } from './redact/redact-options.ts';
export { createRedactor, type Redactor, readSourceRedactor } from './redact/redactor.ts';
export { credentialsLength } from './redact/url-credentials.ts';
