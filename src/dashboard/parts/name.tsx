/** A dotted name, cut at its start if it does not fit, because its end says more. */
export function Name({ text }: { readonly text: string }) {
  return (
    <span class="cut" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}
