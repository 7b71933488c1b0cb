/** Parts of the paths of code that is not the app's own. */
const FOREIGN = ['site-packages/', 'dist-packages/', 'node_modules/', '/lib/python', 'node:', '<frozen '];
/** More lines than any shown traceback has. */
const MOST_LINES = 2_000;

/** A frame of a traceback. */
export interface Frame {
  /** As in the traceback: `File "charge.py", line 12, in capture`, `at capture (/app/charge.js:12:5)`. */
  readonly place: string;
  /** The line of code, if the traceback contains it. */
  readonly code: string | null;
}

/** The frames of the app's own code in a traceback of Python or Node, the innermost first. */
export function ownFrames(traceback: string): readonly Frame[] {
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
