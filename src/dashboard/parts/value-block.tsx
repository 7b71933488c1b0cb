import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../text/format.ts';
import { CopyButton } from './inline.tsx';
import '../style/traceback.css';

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

const WIDTH = 84;
/** Deepest nesting that is laid out, and most lines; what is beyond stays in one line. */
const DEEPEST = 24;
const MOST_LINES = 5_000;
const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
/** A string, which may be truncated, or a bracket or comma outside strings. */
const TOKENS = /'(?:\\.|[^\\'])*(?:'|\\?$)|"(?:\\.|[^\\"])*(?:"|\\?$)|[()[\]{}]|, */gs;

/** Breaks a value into indented lines. Short texts and texts that are not values stay unchanged. */
function pretty(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= WIDTH || trimmed.includes('\n') || !/[([{]/.test(trimmed)) return text;
  try {
    if (/^[[{]/.test(trimmed) && isModest(trimmed)) return JSON.stringify(JSON.parse(trimmed), null, 2);
  } catch {
    // Not JSON, so try a Python repr.
  }
  return layOut(partsOf(trimmed), '', { left: MOST_LINES });
}

/** Whether JSON of this text is neither deep nor long: brackets and commas in its strings count, too. */
function isModest(text: string): boolean {
  let depth = 0;
  let lines = 0;
  for (const [character] of text.matchAll(/[[\]{},]/g)) {
    if (character === '[' || character === '{') depth += 1;
    else if (character !== ',') depth -= 1;
    lines += 1;
    if (depth > DEEPEST || lines > MOST_LINES) return false;
  }
  return true;
}

/** A text without brackets and commas, or a bracket with its items. */
type Part = string | Bracket;

interface Bracket {
  readonly open: string;
  /** Empty if the text was truncated before it. */
  close: string;
  readonly items: Part[][];
}

function partsOf(text: string): readonly Part[] {
  const whole: Bracket = { open: '', close: '', items: [[]] };
  const path = [whole];
  let start = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    const here = path.at(-1) ?? whole;
    const isOpener = Object.hasOwn(CLOSERS, token) && path.length <= DEEPEST;
    const isInside = path.length > 1;
    if (!isOpener && !(isInside && (token === CLOSERS[here.open] || token.startsWith(',')))) continue;
    if (index > start) here.items.at(-1)?.push(text.slice(start, index));
    start = index + token.length;
    if (isOpener) {
      const inner: Bracket = { open: token, close: '', items: [[]] };
      here.items.at(-1)?.push(inner);
      path.push(inner);
    } else if (token.startsWith(',')) here.items.push([]);
    else {
      here.close = token;
      path.pop();
      endItems(here);
    }
  }
  if (start < text.length) path.at(-1)?.items.at(-1)?.push(text.slice(start));
  for (const open of path.slice(1)) endItems(open);
  return whole.items.flat();
}

/** Drops what follows the last comma if that is nothing, but keeps the comma of a tuple with one item. */
function endItems({ items, close }: Bracket): void {
  if (items.at(-1)?.length !== 0) return;
  items.pop();
  if (items.length === 1 && close === ')') items[0]?.push(',');
}

function inOneLine(parts: readonly Part[]): string {
  return parts
    .map((part) =>
      typeof part === 'string' ? part : part.open + part.items.map(inOneLine).join(', ') + part.close,
    )
    .join('');
}

/** @param lines how many more there may be */
function layOut(parts: readonly Part[], indent: string, lines: { left: number }): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const line = inOneLine([part]);
      const fits = line.length + indent.length <= WIDTH || part.items.length === 0;
      if (fits || part.items.length > lines.left) return line;
      lines.left -= part.items.length;
      const deeper = `${indent}  `;
      const laid = part.items.map((item) => `${deeper}${layOut(item, deeper, lines)}`);
      return `${part.open}\n${laid.join(',\n')}\n${indent}${part.close}`;
    })
    .join('');
}

/** Characters of an exception that fit into about two lines. */
const TWO_LINES = 200;
/** Number of frames of the app's own code that are shown at first: recursion has thousands. */
const MOST_FRAMES = 12;

/** The traceback of a task: the frames of the app's own code, innermost first, and the rest on request. */
export function Traceback({ text, isCut }: { readonly text: string | null; readonly isCut: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const own = ownFrames(text ?? '').slice(0, MOST_FRAMES);
  const label = 'Traceback';
  if (text === null) {
    return (
      <section class="value" aria-label={label}>
        <h2>{label}</h2>
        <p class="dim">The engine reported none.</p>
      </section>
    );
  }
  if (own.length === 0) return <ValueBlock label={label} text={text} isCut={isCut} fromEnd />;
  const tools = (
    <button type="button" class="small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
      {isWhole ? 'App code only' : 'Show all frames'}
    </button>
  );
  return (
    <ValueSection
      label={label}
      title={isWhole ? label : 'Traceback: app code'}
      text={text}
      isCut={isCut}
      tools={tools}
    >
      {isWhole ? (
        <pre tabIndex={0}>{text}</pre>
      ) : (
        <ol class="own-frames mono">
          {own.map(({ place, code }, index) => (
            <li key={index}>
              <span class="wrap">{place}</span>
              {code !== null && <b class="wrap">{code}</b>}
            </li>
          ))}
        </ol>
      )}
    </ValueSection>
  );
}

/** An exception, cut to two lines at first. */
export function ErrorText({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > TWO_LINES || text.includes('\n');
  return (
    <div class="error-text tone-failure">
      <strong class={isLong && !isOpen ? 'error-cut' : 'wrap'}>{text}</strong>
      {isLong && (
        <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Less' : 'More'}
        </button>
      )}
    </div>
  );
}

/** Parts of the paths of code that is not the app's own. */
const FOREIGN = ['site-packages/', 'dist-packages/', 'node_modules/', '/lib/python', 'node:', '<frozen '];
/** More lines than any shown traceback has. */
const MOST_READ = 2_000;

/** A frame of a traceback. */
interface Frame {
  /** As in the traceback: `File "charge.py", line 12, in capture`, `at capture (/app/charge.js:12:5)`. */
  readonly place: string;
  /** The line of code, if the traceback contains it. */
  readonly code: string | null;
}

/** The frames of the app's own code in a traceback of Python or Node, the innermost first. */
function ownFrames(traceback: string): readonly Frame[] {
  const lines = traceback.split('\n', MOST_READ).map((line) => line.trim());
  const isPython = lines.some((line) => line.startsWith('File "'));
  const frames = lines.flatMap((line, index): Frame[] => {
    const isFrame = isPython ? line.startsWith('File "') : line.startsWith('at ');
    if (!isFrame || FOREIGN.some((part) => line.includes(part))) return [];
    const next = lines[index + 1] ?? '';
    const hasCode = isPython && next !== '' && !next.startsWith('File "');
    return [{ place: line, code: hasCode ? next : null }];
  });
  // Python's innermost frame is the last one, Node's the first.
  return isPython ? frames.toReversed() : frames;
}
