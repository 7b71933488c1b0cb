/** Lengths at which Celery cuts a repr: by default 1024 (`argsrepr_maxsize`, `resultrepr_maxsize`). */
const USUAL_LENGTH = 1000;

/**
 * Whether Celery cut this repr. Its `saferepr` writes `...` for what it leaves out: at the end if the text is
 * too long, and for values nested deeper than three levels. Three dots inside a string are the app's own,
 * unless they end a text of the length at which Celery cuts.
 */
export function wasCut(repr: string): boolean {
  // Most reprs have no dots, and V8 searches faster from the front.
  if (!repr.includes('...')) return false;
  const last = repr.lastIndexOf('...');
  if (repr.length >= USUAL_LENGTH && last > repr.length - 40) return true;
  let inString = false;
  for (let at = 0; at < repr.length; at += 1) {
    const code = repr.charCodeAt(at);
    if (code === 92 && inString) at += 1;
    else if (code === 39) inString = !inString;
    else if (code === 46 && !inString && repr.startsWith('...', at)) return true;
  }
  return false;
}
