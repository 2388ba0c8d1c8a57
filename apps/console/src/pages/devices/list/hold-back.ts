type Row = { deviceId: string }

type Page<R> = { devices: R[]; nextCursor?: string | undefined }

/**
 * Splits rows into rows to show and rows to hold back. New rows above or between the `shown` rows are held back, because
 * they would move rows that are on screen.
 */
export function holdBack<R extends Row>(rows: readonly R[], shown: ReadonlySet<string>) {
  const last = rows.findLastIndex(({ deviceId }) => shown.has(deviceId))
  const isHeld = ({ deviceId }: R, index: number) => index < last && !shown.has(deviceId)
  return {
    devices: rows.filter((row, index) => !isHeld(row, index)),
    held: rows.filter(isHeld),
  }
}

/**
 * Extends a refetched page up to the row that was its last row before the refetch. New devices would otherwise push shown
 * rows out of the page.
 */
export async function upToItsEnd<P extends Page<Row>>(
  before: P,
  answer: P,
  askFrom: (cursor: string) => Promise<P>,
): Promise<P> {
  const last = before.devices.at(-1)?.deviceId
  const endOf = ({ devices }: Page<Row>) => devices.findIndex(({ deviceId }) => deviceId === last)
  if (answer.nextCursor === undefined || endOf(answer) !== -1) return answer
  const more = await askFrom(answer.nextCursor)
  const end = endOf(more)
  // The row that ended the page before the refetch was deleted or has moved to a later page, so the page is not extended.
  if (end === -1) return answer
  const isLast = before.nextCursor === undefined
  return {
    ...answer,
    devices: [...answer.devices, ...(isLast ? more.devices : more.devices.slice(0, end + 1))],
    nextCursor: isLast ? more.nextCursor : before.nextCursor,
  }
}
