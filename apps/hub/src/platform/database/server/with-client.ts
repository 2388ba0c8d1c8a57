import pg from 'pg'

/** Runs statements on a connection of their own, which is closed afterwards. */
export async function withClient<Result>(
  connection: pg.PoolConfig,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(connection)
  // If the connection breaks, the statement in flight fails. Without a listener, the client's `error` event would also end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
