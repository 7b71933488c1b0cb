export {
  type NewTask,
  plainRecord,
  redactComponent,
  redactEvent,
  redactSchedule,
  redactTask,
  redactTaskProgress,
  redactTimeline,
  redactValue,
} from './redact/redact-model.ts';
export type { RedactFunction, RedactOptions } from './redact/redactor.ts';
export {
  createRedactor,
  joinRedact,
  type Redactor,
  readSourceRedactor,
  resolveRedact,
} from './redact/redactor.ts';
export { credentialsLength } from './redact/url-credentials.ts';
