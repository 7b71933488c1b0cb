/** Which parameters lists of tasks accept. An attribute of the HTML contains them, so that no view has to wait. */
import type { TaskCapabilitiesBody } from '../wire.ts';

const text = globalThis.document?.getElementById('app')?.dataset.capabilities;
/** `null`: everything. */
const known = text === undefined ? null : (JSON.parse(text) as TaskCapabilitiesBody);

/** Whether `/api/tasks/` accepts these parameters: a source may lack searches, or some filters. */
export function canAskFor(...parameters: readonly string[]): boolean {
  return known === null || parameters.every((name) => isAmong(known, name));
}

function isAmong({ search, filters }: TaskCapabilitiesBody, name: string): boolean {
  if (/^(?:not_)?q$/.test(name)) return search;
  return /^(?:not_)?source$/.test(name) || filters.includes(name);
}
