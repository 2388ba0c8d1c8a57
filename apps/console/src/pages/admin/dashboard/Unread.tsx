/** Placeholder for a part of the health: the reason why it could not be read, or a skeleton while it loads (`failure` undefined). */
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
