import { useState } from 'preact/hooks';
import { count } from '../text/numbers.ts';
import { pretty } from '../text/pretty.ts';
import { CopyButton } from './copy-button.tsx';

const FOLDED_LINES = 16;
const FOLDED_CHARACTERS = 2_000;

/** A value or a traceback, formatted and folded when long. Copying gives the original text. */
export function ValueBlock(props: {
  readonly label: string;
  readonly text: string | null;
  readonly isCut?: boolean;
  /** Show the end first, which is what matters in a traceback. */
  readonly fromEnd?: boolean;
  readonly missing?: string;
}) {
  const { label, text, isCut = false, fromEnd = false, missing = 'unknown' } = props;
  const [isOpen, setOpen] = useState(false);
  if (text === null) {
    return (
      <section class="value" aria-label={label}>
        <h2>{label}</h2>
        <p class="dim">{missing}</p>
      </section>
    );
  }
  const full = fromEnd ? text : pretty(text);
  const folded = fold(full, fromEnd);
  const isLong = folded.length < full.length;
  return (
    <section class="value" aria-label={label}>
      <div class="flow value-head">
        <h2>{label}</h2>
        {isCut && <span class="badge tone-retry outlined">cut</span>}
        {isLong && (
          <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Collapse' : `Show all ${count(full.length)} characters`}
          </button>
        )}
        <CopyButton text={text} what={label.toLowerCase()} />
      </div>
      <pre tabIndex={0}>{isOpen || !isLong ? full : fromEnd ? `…\n${folded}` : `${folded}\n…`}</pre>
    </section>
  );
}

function fold(text: string, fromEnd: boolean): string {
  const lines = text.split('\n');
  const few = fromEnd ? lines.slice(-FOLDED_LINES) : lines.slice(0, FOLDED_LINES);
  const joined = few.join('\n');
  if (joined.length <= FOLDED_CHARACTERS) return joined;
  return fromEnd ? joined.slice(-FOLDED_CHARACTERS) : joined.slice(0, FOLDED_CHARACTERS);
}
