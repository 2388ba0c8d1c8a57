declare const styles: {
  readonly secondLine: string
  readonly warning: string
}
export default styles
