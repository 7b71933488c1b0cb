import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../text/numbers.ts';
import { pretty } from '../text/pretty.ts';
import { CopyButton } from './copy-button.tsx';

const FOLDED_LINES = 16;
const FOLDED_CHARACTERS = 2_000;

/** A text of a task under its name, with a button that copies it. */
export function ValueSection(props: {
  readonly label: string;
  /** Default: the label. */
  readonly title?: string;
  readonly text: string;
  readonly isCut?: boolean;
  readonly tools: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { label, title = label, text, isCut = false, tools, children } = props;
  return (
    <section class="value" aria-label={label}>
      <div class="flow value-head">
        <h2>{title}</h2>
        {isCut && <span class="badge tone-retry outlined">cut</span>}
        {tools}
        <CopyButton text={text} what={label.toLowerCase()} />
      </div>
      {children}
    </section>
  );
}

/** A value or a traceback, formatted and folded when long. Copying gives the original text. */
export function ValueBlock(props: {
  readonly label: string;
  readonly text: string;
  readonly isCut?: boolean;
  /** Show the end first, which is what matters in a traceback. */
  readonly fromEnd?: boolean;
}) {
  const { text, fromEnd = false } = props;
  const [isOpen, setOpen] = useState(false);
  const full = fromEnd ? text : pretty(text);
  const folded = fold(full, fromEnd);
  const isLong = folded.length < full.length;
  const tools = isLong && (
    <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {isOpen ? 'Collapse' : `Show all ${count(full.length)} characters`}
    </button>
  );
  return (
    <ValueSection {...props} tools={tools}>
      <pre tabIndex={0}>{isOpen || !isLong ? full : fromEnd ? `…\n${folded}` : `${folded}\n…`}</pre>
    </ValueSection>
  );
}

function fold(text: string, fromEnd: boolean): string {
  const lines = text.split('\n');
  const few = fromEnd ? lines.slice(-FOLDED_LINES) : lines.slice(0, FOLDED_LINES);
  const joined = few.join('\n');
  if (joined.length <= FOLDED_CHARACTERS) return joined;
  return fromEnd ? joined.slice(-FOLDED_CHARACTERS) : joined.slice(0, FOLDED_CHARACTERS);
}
