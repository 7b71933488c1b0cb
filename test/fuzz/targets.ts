/** Every reader of input that is not ours. */
import type { Runnable } from './target.ts';
import * as bullmq from './targets/bullmq.ts';
import * as celery from './targets/celery-messages.ts';
import * as schedules from './targets/celery-schedules.ts';
import * as texts from './targets/texts.ts';

export const TARGETS: readonly Runnable[] = [celery, schedules, texts, bullmq].flatMap((targets) =>
  Object.values(targets),
);
