/** Index of the next character that is neither a space nor a tab. */
export function skipBlanks(text: string, at: number): number {
  let place = at;
  while (text[place] === ' ' || text[place] === '\t') place++;
  return place;
}

/** Whether a character is a space, a tab or a line break. */
export function isBlankOrBreak(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}
