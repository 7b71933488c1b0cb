import type { Rule } from './finding.ts';
import { failureRate } from './rules/failure-rate.ts';
import { tasksLost, tasksMissing, tasksOverdue } from './rules/open-tasks.ts';
import { queueGrowing } from './rules/queue-growing.ts';
import { queueWaiting } from './rules/queue-waiting.ts';
import { taskRanTwice } from './rules/ran-twice.ts';
import { scheduleMissed } from './rules/schedule-missed.ts';
import { storeBehind } from './rules/store-behind.ts';
import { taskOverrun } from './rules/task-overrun.ts';
import { workerStuck } from './rules/worker-stuck.ts';
import { workersSilent } from './rules/workers-silent.ts';

/** Every rule about one source. */
export const RULES: readonly Rule[] = [
  workersSilent,
  workerStuck,
  queueWaiting,
  queueGrowing,
  failureRate,
  taskOverrun,
  taskRanTwice,
  tasksLost,
  tasksMissing,
  tasksOverdue,
  scheduleMissed,
  storeBehind,
];
