"""CustomResourceDefinitions of several tastes, for tests of what is made of them."""

from __future__ import annotations

CRON_TAB = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object}
            spec:
              type: object
              required: [cronSpec, replicas]
              properties:
                cronSpec: {type: string, pattern: '^(\\S+\\s){4}\\S+$'}
                image: {type: string}
                replicas: {type: integer, format: int32, minimum: 0}
                suspend: {type: boolean, default: false}
                concurrencyPolicy: {type: string, enum: [Allow, Forbid, Replace]}
                startingDeadlineSeconds: {type: integer, format: int64, nullable: true}
                args: {type: array, items: {type: string}}
                env: {type: object, additionalProperties: {type: string}}
                template:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    ports:
                      type: array
                      items:
                        type: object
                        required: [containerPort]
                        properties:
                          containerPort: {type: integer}
                          protocol: {type: string, enum: [TCP, UDP]}
            status:
              type: object
              properties:
                lastScheduleTime: {type: string, format: date-time}
                active: {type: integer}
    - name: v1beta1
      served: true
      storage: false
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                schedule: {type: string}
"""

CERTIFICATE = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: certificates.certs.example.com
spec:
  group: certs.example.com
  scope: Namespaced
  names: {plural: certificates, singular: certificate, kind: Certificate}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [secretName, issuerRef]
              properties:
                commonName: {type: string}
                dnsNames: {type: array, items: {type: string}}
                ipAddresses: {type: array, items: {type: string}}
                duration: {type: string}
                isCA: {type: boolean}
                issuerRef:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    kind: {type: string}
                    group: {type: string}
                keystores:
                  type: object
                  properties:
                    pkcs12:
                      type: object
                      required: [create, passwordSecretRef]
                      properties:
                        create: {type: boolean}
                        passwordSecretRef:
                          type: object
                          required: [name]
                          properties:
                            key: {type: string}
                            name: {type: string}
                privateKey:
                  type: object
                  properties:
                    algorithm: {type: string, enum: [RSA, ECDSA, Ed25519]}
                    size: {type: integer}
                secretName: {type: string}
                secretTemplate:
                  type: object
                  properties:
                    annotations: {type: object, additionalProperties: {type: string}}
                    labels: {type: object, additionalProperties: {type: string}}
                usages:
                  type: array
                  items: {type: string, enum: [signing, digital signature, "", server auth]}
            status:
              type: object
              properties:
                conditions:
                  type: array
                  items:
                    type: object
                    required: [type, status]
                    properties:
                      lastTransitionTime: {type: string, format: date-time}
                      message: {type: string}
                      observedGeneration: {type: integer, format: int64}
                      reason: {type: string}
                      status: {type: string, enum: ["True", "False", Unknown]}
                      type: {type: string}
                notAfter: {type: string, format: date-time}
                revision: {type: integer}
"""

GATEWAY = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: meshgateways.net.example.com
spec:
  group: net.example.com
  scope: Cluster
  names: {plural: meshgateways, kind: MeshGateway}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [generationLimit, isPaused, owner, zones]
          properties:
            generationLimit: {type: integer}
            isPaused: {type: boolean}
            owner: {type: object, required: [name], properties: {name: {type: string}}}
            zones: {type: array, items: {type: string}}
            comment: {type: string}
            spec:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              required: [port, weight]
              properties:
                port: {x-kubernetes-int-or-string: true}
                maxUnavailable:
                  anyOf: [{type: integer}, {type: string}]
                  x-kubernetes-int-or-string: true
                weight: {type: number}
                ratio: {type: number}
                config: {type: object, x-kubernetes-preserve-unknown-fields: true}
                anything: {x-kubernetes-preserve-unknown-fields: true}
                template: {type: object, x-kubernetes-embedded-resource: true,
                           x-kubernetes-preserve-unknown-fields: true}
                certificate: {type: string, format: byte}
                matrix: {type: array, items: {type: array, items: {type: integer}}}
                listeners:
                  type: object
                  additionalProperties:
                    type: array
                    items: {type: object, properties: {host: {type: string}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""

AWKWARD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: models.awkward-names.example.com
spec:
  group: awkward-names.example.com
  scope: Namespaced
  names: {plural: models, kind: Model}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          description: 'Ends in \\ and quotes: \"\"\"'
          type: object
          properties:
            name: {type: string}
            labels: {type: object, additionalProperties: {type: string}}
            copy: {type: boolean}
            data: {type: object, additionalProperties: {type: string, format: byte}}
            since: {type: string, format: date-time}
            spec:
              type: object
              required: [from, class, $ref, "404"]
              properties:
                from:
                  type: string
                  description: |
                    \"\"\"
                    import this
                    \"\"\" \\
                class: {type: string}
                $ref: {type: string}
                "404": {type: string}
                list: {type: array, items: {type: string}}
                dict: {type: object, additionalProperties: {type: string}}
                str: {type: string}
                int: {type: integer}
                datetime: {type: string, format: date-time}
                msgspec: {type: string}
                copy: {type: string}
                to_dict: {type: string}
                _hidden: {type: string}
                fooBar: {type: string}
                foo_bar: {type: string}
                foo-bar: {type: string}
                clusterIP: {type: string}
                podIPs: {type: array, items: {type: string}}
                self: {type: string}
                mode: {type: string, enum: ["", "*", 1.5x, on-demand, OnDemand, None]}
                preferredDuringSchedulingIgnoredDuringExecution:
                  type: array
                  items:
                    type: object
                    required: [requiredDuringSchedulingIgnoredDuringExecution]
                    properties:
                      requiredDuringSchedulingIgnoredDuringExecution:
                        type: object
                        properties:
                          nodeSelectorTermsOfTheLongestNameThatAnybodyEverThoughtOfYet:
                            type: object
                            additionalProperties:
                              type: object
                              properties: {values: {type: array, items: {type: string}}}
"""

ALL = (CRON_TAB, CERTIFICATE, GATEWAY, AWKWARD)
