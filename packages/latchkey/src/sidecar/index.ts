export { type SidecarOptions, sidecarOptions } from './options-from-settings.js'
export { configJson, configText } from './print-config.js'
export { ConfigError, parseMembers, resolveSettings } from './setting-values-by-precedence.js'
export { SETTING_NAMES, rowOf, type SettingRow } from './settings-table.js'
