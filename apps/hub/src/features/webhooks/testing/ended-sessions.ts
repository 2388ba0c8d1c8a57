import { databaseSession, type TestHub } from '@muster/testkit'

/**
 * Runs `write` while database sessions are ended again and again, whatever statement they are in. `statements` is the pattern of the
 * statements whose sessions are ended. `wake` makes the nodes go on at once after each time.
 */
export async function whileSessionsEnd(
  hub: TestHub,
  { statements, wake, pauseMs }: { statements: string; wake: () => void; pauseMs: number },
  write: () => Promise<void>,
): Promise<void> {
  await using killer = await databaseSession(hub)
  let isWriting = true
  const endSessions = async (): Promise<void> => {
    while (isWriting) {
      await killer.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query ~ $1`,
        [statements],
      )
      wake()
      await killer.query('select pg_sleep($1)', [pauseMs / 1000])
    }
  }
  const ending = endSessions()
  try {
    await write()
  } finally {
    isWriting = false
    await ending
  }
}
