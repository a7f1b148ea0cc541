/** What a failed TLS handshake means, in words an administrator can act on, by the codes of OpenSSL and Node. */
const VERIFY_FAULTS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by the configured CA',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is not signed by the configured CA',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by the configured CA',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed and not in the configured CA',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by the configured CA',
  CERT_SIGNATURE_FAILURE: 'its certificate is not signed by the configured CA',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet (or our clock is wrong)',
  CERT_UNTRUSTED: 'its certificate is not trusted',
  CERT_REJECTED: 'its certificate is rejected',
  CERT_REVOKED: 'its certificate is revoked',
  CERT_CHAIN_TOO_LONG: 'its certificate chain is too long',
  INVALID_CA: 'a certificate in its chain is no CA',
  INVALID_PURPOSE: 'its certificate is not meant for servers',
  PATH_LENGTH_EXCEEDED: 'its certificate chain is too long',
  HOSTNAME_MISMATCH: 'its certificate is for another name',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_TLS_CERT_ALTNAME_FORMAT: 'its certificate has an unreadable name',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'the TLS handshake did not finish in time',
  UND_ERR_PRX_TLS: 'the TLS handshake with the proxy failed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it asks for a client certificate',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'it does not accept our client certificate',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: 'it does not accept our client certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'our client certificate has expired',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'our client certificate and key do not belong together',
  ERR_OSSL_PEM_NO_START_LINE: 'the configured CA, certificate or key is not PEM',
  ERR_OSSL_PEM_BAD_BASE64_DECODE: 'the configured CA, certificate or key is damaged',
  ERR_OSSL_PEM_BAD_END_LINE: 'the configured CA, certificate or key is damaged',
}

/** The sentence for a code; undefined for one that has nothing to do with TLS. */
export function tlsFault(code: string): string | undefined {
  const known = VERIFY_FAULTS[code]
  if (known !== undefined) return known
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'the TLS handshake failed'
  if (code.startsWith('ERR_OSSL_') || code.startsWith('CERT_')) return 'the TLS certificates cannot be used'
  return undefined
}
