declare const styles: {
  readonly port: string
  readonly services: string
}
export default styles
