/** Stands in place of a part that could not be read, with the reason. Without a reason the part still loads. */
export function Unread({ failure }: { failure: string | undefined }) {
  return failure === undefined ? (
    <p className="unread">
      <span className="skel" />
    </p>
  ) : (
    <p className="unread">
      <b>–</b> <bdi>{failure}</bdi>
    </p>
  )
}
