import { useQueryClient } from '@tanstack/react-query'
import { Lock, LogOut, Mail, Monitor, Moon, Sun } from 'lucide-react'
import { invoke } from '../../../api/client.ts'
import { invalidateActions, useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { useInvitations } from '../../../pages/accounts/shared/use-invitations.ts'
import { useSession } from '../../../session.ts'
import { setTheme, useTheme } from '../../../theme.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { useLogOut } from '../../app/use-log-out.ts'
import type { OptionGroup } from './option.ts'

/** Maximum number of sessions that are counted. A person with more sessions sees this number. */
const MAX_SESSIONS = 100

/** Options of the search dialog for the theme, the invitations, the other sessions, and Log Out. */
export function useSessionOptions(): OptionGroup {
  const { userId, email, displayName } = useSession()
  const queryClient = useQueryClient()
  const theme = useTheme()
  const logOut = useLogOut()
  const invitations = useInvitations()?.total
  const sessions = useActionState('users_QuerySessions', { userId, limit: MAX_SESSIONS }).data?.sessions
  const others = sessions?.filter(({ isCurrent }) => !isCurrent).length ?? 0
  const isDark = document.documentElement.dataset.theme === 'dark'

  async function endOthers() {
    try {
      await invoke('users_TerminateSessions', { userId })
      toast(`${counted(others, 'other session')} ended.`)
      await invalidateActions(queryClient, ['users_QuerySessions'])
    } catch (error) {
      toastError('Could not end the sessions', error)
    }
  }

  return {
    label: 'Session',
    aside: displayName || email,
    options: [
      isDark
        ? { key: 'light', icon: Sun, label: 'Use the light theme', run: () => setTheme('light') }
        : { key: 'dark', icon: Moon, label: 'Use the dark theme', run: () => setTheme('dark') },
      ...(theme === 'system'
        ? []
        : [
            {
              key: 'system',
              icon: Monitor,
              label: 'Use the theme of the system',
              run: () => setTheme('system'),
            },
          ]),
      ...(invitations
        ? [
            {
              key: 'invitations',
              icon: Mail,
              label: 'Invitations',
              to: '/user/invitations',
              end: <Badge tone="info">{invitations}</Badge>,
            },
          ]
        : []),
      ...(others > 0
        ? [
            {
              key: 'sessions',
              icon: Lock,
              label: 'End all other sessions',
              hit: <em>{counted(others, 'other')}</em>,
              run: () => void endOthers(),
            },
          ]
        : []),
      { key: 'log out', icon: LogOut, label: 'Log Out', run: () => void logOut() },
    ],
  }
}
