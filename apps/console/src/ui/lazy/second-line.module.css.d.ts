declare const styles: {
  readonly secondLine: string
}
export default styles
