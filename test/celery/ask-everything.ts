import type { Replies } from '../../src/sources/celery/control/broadcast.ts';
import type { Control } from '../../src/sources/celery/control/control.ts';
import { CONTROL_COMMANDS } from '../../src/sources/celery/control/encoder.ts';

/** The workers that replied, sorted. */
export const namesIn = (replies: Replies | null): string[] => [...(replies?.values.keys() ?? [])].sort();

/** Asks workers every question that there is, one after the other. */
export async function askEverything(control: Control): Promise<(Replies | null)[]> {
  const replies: (Replies | null)[] = [];
  for (const command of CONTROL_COMMANDS) {
    replies.push(await (command === 'enable_events' ? control.enableEvents() : control.ask(command)));
  }
  return replies;
}
