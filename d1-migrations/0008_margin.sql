ALTER TABLE `calls` ADD `charge_nano_usd` integer;--> statement-breakpoint
ALTER TABLE `meter_events` ADD `charged_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `meter_events` ADD `charged_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `meter_events_charged` ON `meter_events` (`organization_id`,`at_ms`,`feature`,`charged_usd`,`charged_rest_nano_usd`) WHERE charge_nano_usd IS NOT NULL;--> statement-breakpoint
CREATE INDEX `meter_events_charged_of_customer` ON `meter_events` (`organization_id`,`customer_id`,`at_ms`,`charged_usd`,`charged_rest_nano_usd`) WHERE charge_nano_usd IS NOT NULL;--> statement-breakpoint
ALTER TABLE `customer_running_totals` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customer_running_totals` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_days` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_days` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_running_totals` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_running_totals` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_days` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_days` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_changes` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_changes` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `customers_by_plan_version` ON `customers` (`organization_id`,`usage_plan_version_id`,`created_at_ms`,`canceled_at_ms`);