/** Every reader of input that is not ours. */
import type { Runnable } from './target.ts';
import { bullmqTarget } from './targets/bullmq.ts';
import * as streams from './targets/bullmq-streams.ts';
import * as celery from './targets/celery-messages.ts';
import * as celeryRedis from './targets/celery-redis.ts';
import * as schedules from './targets/celery-schedules.ts';
import * as exporter from './targets/exporter.ts';
import * as redaction from './targets/redaction.ts';
import { REQUEST_TARGETS } from './targets/requests.ts';
import * as texts from './targets/texts.ts';

export const TARGETS: readonly Runnable[] = [
  ...REQUEST_TARGETS,
  ...[celery, celeryRedis, schedules, texts, redaction, streams, { bullmqTarget }, exporter].flatMap(
    (targets) => Object.values<Runnable>(targets),
  ),
];
