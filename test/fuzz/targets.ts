/** Every reader of input that is not ours. */
import type { Runnable } from './target.ts';
import { bullmqTarget } from './targets/bullmq.ts';
import * as jobs from './targets/bullmq-jobs.ts';
import * as streams from './targets/bullmq-streams.ts';
import * as celery from './targets/celery-messages.ts';
import * as schedules from './targets/celery-schedules.ts';
import * as exporter from './targets/exporter.ts';
import * as redaction from './targets/redaction.ts';
import { REQUEST_TARGETS } from './targets/requests.ts';
import * as texts from './targets/texts.ts';

export const TARGETS: readonly Runnable[] = [
  ...REQUEST_TARGETS,
  ...[celery, schedules, texts, redaction, jobs, streams, { bullmqTarget }, exporter].flatMap((targets) =>
    Object.values<Runnable>(targets),
  ),
];
