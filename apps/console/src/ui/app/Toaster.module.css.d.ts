declare const styles: {
  readonly toast: string
  readonly toasts: string
}
export default styles
