/**
 * Types of every JSON body of the API. `openapi.json` is generated from this file alone. Bodies always have
 * all their fields; `null` means "unknown".
 */

export type * from './wire/common.ts';
export type * from './wire/deployment.ts';
export type * from './wire/tasks.ts';
export type * from './wire/workflow.ts';
