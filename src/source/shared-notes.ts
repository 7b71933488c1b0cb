/** What the instances of a host share, so that one of them acts for all. */

/** A text that is kept outside the process, and which instance may write it. */
export interface SharedNotes {
  /**
   * Whether this instance acts for all now. `null`: no instance does, or it is unknown because the store does not
   * answer; the instance that did before continues.
   */
  isHolder(): boolean | null;
  /** @returns the last text written by any instance; `null`: none. Rejects if the store does not answer */
  read(): Promise<string | null>;
  /** Replaces the text. Rejects if the store does not answer. */
  write(text: string): Promise<void>;
  /** Lets another router of this process use the text. */
  close(): void;
}
