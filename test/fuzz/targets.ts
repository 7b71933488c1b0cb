/** Every reader of input that is not ours. */
import type { Runnable } from './target.ts';
import * as celery from './targets/celery-messages.ts';

export const TARGETS: readonly Runnable[] = [...Object.values(celery)];
