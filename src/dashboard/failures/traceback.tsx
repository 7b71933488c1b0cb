import '../style/traceback.css';
import { useState } from 'preact/hooks';
import { ValueBlock, ValueSection } from '../parts/value-block.tsx';

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
const MOST_LINES = 2_000;

/** A frame of a traceback. */
interface Frame {
  /** As in the traceback: `File "charge.py", line 12, in capture`, `at capture (/app/charge.js:12:5)`. */
  readonly place: string;
  /** The line of code, if the traceback contains it. */
  readonly code: string | null;
}

/** The frames of the app's own code in a traceback of Python or Node, the innermost first. */
function ownFrames(traceback: string): readonly Frame[] {
  const lines = traceback.split('\n', MOST_LINES).map((line) => line.trim());
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
