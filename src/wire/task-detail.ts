/** The body that describes one task. */
import type { WaitBody } from './answers.ts';
import type { Integer, SourceBody, Timestamp } from './common.ts';
import type { TaskBody } from './tasks.ts';

/** One attempt of a task. */
export interface TaskAttemptBody {
  /** 1 for the first. */
  number: Integer;
  started: Timestamp | null;
  /** `null` also while it runs. */
  finished: Timestamp | null;
  /** Why it failed, at most 1,024 characters; `null` if it did not fail, or if this is unknown. */
  error: string | null;
}

/** The end of a job's log. */
export interface TaskLogBody {
  /** The last lines, oldest first, 100 at most, each of at most 2,000 characters. */
  lines: string[];
  /** How many lines there are in all. */
  total: Integer;
}

/** A link on a task's page. */
export interface TaskLinkBody {
  /** 1 to 200 characters. */
  text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. */
  url: string;
}

/** `GET /api/tasks/{task_id}/` */
export interface TaskDetailBody extends TaskBody {
  /** Ids of the tasks that this task sent. */
  children: string[];
  /** Every observed change, oldest first. */
  timeline: TimelineEntryBody[];
  /** Its attempts, oldest first, the last 100 at most; `null` if unknown. */
  attempts: TaskAttemptBody[] | null;
  /** Options of the job as JSON; `null` if the engine has none. */
  options: string | null;
  /** The log of the job; `null` if the engine keeps no log. */
  log: TaskLogBody | null;
  /**
   * Id of the OpenTelemetry trace in which it was sent: 32 lowercase hexadecimal digits. `null` if its message was
   * not seen or contains none.
   */
  trace_id: string | null;
  /** Seconds after which it is interrupted, and its process killed. */
  time_limits: { soft: number | null; hard: number | null } | null;
  /** Why it waits; `null`: it does not wait. */
  waiting_for: WaitBody | null;
  /** Links to other tools, from the host's option `taskLinks`. */
  links: TaskLinkBody[];
  sources: SourceBody[];
}

/** One state change of a task. */
export interface TimelineEntryBody {
  state: string;
  timestamp: Timestamp | null;
  worker: string | null;
  /** Further information about the change, such as the exception of a retry. */
  detail: string | null;
  /** Number of the attempt to which the change belongs, 0 for the first. */
  retries: Integer | null;
}
