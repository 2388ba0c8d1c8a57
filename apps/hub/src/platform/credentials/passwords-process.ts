// The process that hashes passwords, forked by `passwords.ts`. Each message is a task, and each answer carries the id of its task.
import { hash, type Options, verify } from '@node-rs/argon2'
import { isCommonPassword } from './common-passwords.ts'

/** A password to hash with `parameters`, if it is new only when it is no common one, or to compare with the hash `against`. */
export type PasswordTask = { password: string } & (
  | { parameters: Options; isNew: boolean }
  | { against: string }
)

/** Answer to a task: the hash, the result of the comparison, null for a new password that is a common one, or an error message. */
export type PasswordAnswer = { id: number; outcome: string | boolean | null } | { id: number; error: string }

process.on('message', (message: PasswordTask & { id: number }) => void answer(message))
process.on('disconnect', () => process.exit())

async function answer(task: PasswordTask & { id: number }): Promise<void> {
  // Ignores send errors: when the parent has exited, the 'disconnect' event ends this process.
  process.send!(await outcomeOf(task), () => {})
}

async function outcomeOf(task: PasswordTask & { id: number }): Promise<PasswordAnswer> {
  try {
    const { id, password } = task
    if ('isNew' in task && task.isNew && (await isCommonPassword(password))) return { id, outcome: null }
    const outcome = await ('against' in task
      ? verify(task.against, password)
      : hash(password, task.parameters))
    return { id, outcome }
  } catch (error) {
    return { id: task.id, error: String(error) }
  }
}
