import type pg from 'pg'

/** Runs statements in a transaction on a connection of the pool. Rolls back when `run` throws, and throws the same error. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  run: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let isBroken = false
  try {
    await client.query('begin')
    const result = await run(client)
    await client.query('commit')
    return result
  } catch (error) {
    // The pool closes a connection whose transaction could not be ended.
    await client.query('rollback').catch(() => {
      isBroken = true
    })
    throw error
  } finally {
    client.release(isBroken)
  }
}
