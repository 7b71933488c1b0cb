/** Why a task failed, as far as other failures share it. Only text without secrets is in it. */
export interface TaskCause {
  /** Short and stable: the same for equal causes in every process, and after a restart. */
  readonly id: string;
  /** Name of the exception's class, without its module; `null`: not known. */
  readonly exception: string | null;
  /** The message with placeholders for what differs between failures, such as numbers; `null`: there is none. */
  readonly message: string | null;
  /** Where it was raised, such as `charge.py in capture`; `null`: not known. */
  readonly frame: string | null;
}
