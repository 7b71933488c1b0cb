/** The search language, which is loaded when the reader needs it. */
export { formatSearch, parseSearch, searchIn, withSearch } from './parse.ts';
export { readFacets, suggest } from './suggest.ts';
