import { Monitor, Moon, Sun } from 'lucide-react'
import { setTheme, type Theme, useTheme } from '../theme.ts'
import { IconButton } from '../ui/IconButton.tsx'
import type { IconType } from '../ui/icon.ts'
import { Menu, MenuChoice } from '../ui/Menu.tsx'

const THEMES: { value: Theme; label: string; icon: IconType }[] = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
]

/** A button that opens the choice of look. */
export function ThemeMenu() {
  const theme = useTheme()
  const icon = THEMES.find(({ value }) => value === theme)?.icon ?? Monitor
  return (
    <Menu trigger={<IconButton label={`Theme: ${theme}`} icon={icon} />} align="end">
      <ThemeChoice />
    </Menu>
  )
}

/** The choice of look as items of a menu. */
export function ThemeChoice() {
  return <MenuChoice label="Theme" value={useTheme()} options={THEMES} onChange={setTheme} />
}
